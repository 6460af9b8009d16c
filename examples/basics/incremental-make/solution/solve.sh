#!/bin/bash
cat > /app/Makefile <<'MAKEFILE'
CHAPTERS := $(shell cat order.list)
OUTPUTS := $(patsubst %,build/%.out,$(CHAPTERS))

build/book.txt: title.txt order.list $(OUTPUTS)
	cat title.txt $(OUTPUTS) > $@

build/%.out: chapters/%.txt style.sed | build
	sed -f style.sed $< > $@

build:
	mkdir -p $@

clean:
	rm -rf build

.PHONY: clean
.DELETE_ON_ERROR:
MAKEFILE
