#!/bin/bash
cat > /app/proxy.conf <<'CONFIG'
# Reverse proxy of the shop.
upstream shop {
    server 10.0.0.11:9000;
    server 10.0.0.12:9000;
}

upstream api {
    server 10.0.1.21:7000;
}

server {
    listen 8080;
    server_name shop.example;
    proxy_pass shop;
    proxy_read_timeout 30s;
}

server {
    listen 8080;
    server_name api.example;
    proxy_pass api;
    proxy_read_timeout 5s;
}

server {
    listen 8081;
    server_name admin.example;
    proxy_pass api;
    proxy_read_timeout 60s;
}
CONFIG
