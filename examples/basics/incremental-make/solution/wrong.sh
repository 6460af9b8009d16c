#!/bin/bash
# Always right and never done: everything is built again each time.
cat > /app/Makefile <<'MAKEFILE'
CHAPTERS := $(shell cat order.list)

.PHONY: all clean
all:
	mkdir -p build
	set -e; for c in $(CHAPTERS); do sed -f style.sed chapters/$$c.txt > build/$$c.out || { rm build/$$c.out; exit 1; }; done
	cat title.txt $(patsubst %,build/%.out,$(CHAPTERS)) > build/book.txt

clean:
	rm -rf build
MAKEFILE
