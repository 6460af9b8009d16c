#!/bin/bash
# Does what the checker asks for, one complaint after the other, and reads 808l as 8080.
cd /app || exit 1
sed -i -e 's/12:9000$/12:9000;/' -e 's/api_v1/api/' -e 's/timeout 30;/timeout 30s;/' -e 's/"api;/api;/' \
    -e 's/808l/8080/' -e 's/server_name shop.example;   # the API/server_name api.example;/' -e '/^    }$/d' proxy.conf
