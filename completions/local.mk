# completions: of command lines in shells, under the names that the shells look for. make.py makes them
# out of the tables of options. They come with the sources: a program that is built for another
# machine cannot be asked for its tables. tests/cli/completions.sh compares them with the tables.
EXTRA_DIST += completions/make.py
bashcompletiondir = $(datadir)/bash-completion/completions
dist_bashcompletion_DATA = completions/bash/gpureduce completions/bash/gpureduce-bench
fishcompletiondir = $(datadir)/fish/vendor_completions.d
dist_fishcompletion_DATA = completions/fish/gpureduce.fish completions/fish/gpureduce-bench.fish
zshcompletiondir = $(datadir)/zsh/site-functions
dist_zshcompletion_DATA = completions/zsh/_gpureduce completions/zsh/_gpureduce-bench

# For maintainers: writes them anew, after a change of options. Needs Python.
.PHONY: update-completions
update-completions: src/gpureduce$(EXEEXT) src/gpureduce-bench$(EXEEXT)
	@set -e; for program in gpureduce gpureduce-bench; do \
	  write() { $(srcdir)/completions/make.py $$1 src/$$program$(EXEEXT) >$(srcdir)/completions/$$1/$$2; }; \
	  write bash $$program; write fish $$program.fish; write zsh _$$program; \
	done
