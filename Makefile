# SPDX-License-Identifier: GPL-2.0-or-later
#
# Targets for the tasks of a user. All but clean, distclean and help call ./vgpu (tools/vgpu_tools; see ./vgpu help).
#
#   QEMU_SRC=DIR KERNEL_SRC=DIR   build these source trees instead of Debian's
#   S=N                           seconds for each long test (make test-long); seconds in all (make bench-curves)
#   SUITE=NAME                    run only that suite (make test, test-full, test-long)
#   CHANGED=1                     run only the tests that the changed files can break (make test)
#   FUZZ_S=N FUZZ=NAME            FUZZ_S: seconds for each fuzzer; FUZZ: the only fuzzer to run (make fuzz)
#   FRESH=1                       do not continue an earlier run that did not end (make bench-curves)
#   BASE=FILE                     compare with FILE of an earlier run: a bench.json (make bench), a curves.json (make bench-curves)
#   FROM=FILE                     show, compare or draw the curves of FILE, and measure nothing (make bench-curves)

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
export QEMU_SRC KERNEL_SRC

demo: ## build everything, boot, run the demo
	@./vgpu demo

test: ## run the basic pass of every suite; the last line has the totals; CHANGED=1: only tests that changed files can break
	@./vgpu test $(if $(CHANGED),--changed,$(SUITE))

test-full: ## run every test of every suite
	@./vgpu test --full $(SUITE)

test-long: ## run the long forms of the suites, S= seconds for each long test
	@./vgpu test --long $(if $(S),--seconds $(S)) $(SUITE)

test-stress: ## run the basic pass N= times (1) beside stress-ng, with random delays (seed SEED=); results in build/stress.json
	@./vgpu test-stress $(if $(N),--rounds $(N)) $(if $(SEED),--seed $(SEED))

check-recovery: ## inject GART loss, engine hangs and resets under load, N= times each (50); print a table
	@./vgpu check-recovery $(if $(N),--repeat $(N))

check-cycles: ## suspend (VRAM lost or kept; to disk; to idle), hot plug and module reload under load, N= times each (20); KERNEL=debug
	@./vgpu check-cycles $(if $(N),--repeat $(N)) $(if $(KERNEL),--kernel $(KERNEL))

mutants: ## does a pass catch the defects of tests/mutants? PASS=basic, full or changed, MUTANT= names; takes long, can be resumed
	@./vgpu mutants $(if $(PASS),--pass $(PASS)) $(MUTANT)

kfdtest: ## run AMD's conformance test of KFD: a line for each test, then totals; FILTER= gtest's patterns, CLASSES=ABC, GPUS=, HIVE=1, KERNEL=
	@./vgpu kfdtest $(if $(FILTER),'--filter=$(FILTER)') $(if $(CLASSES),--classes $(CLASSES)) $(if $(GPUS),--gpus $(GPUS)) $(if $(HIVE),--hive) $(if $(KERNEL),--kernel $(KERNEL))

FUZZ_S ?= 60
FUZZ ?= fuzz-model fuzz-generic
fuzz: ## run the fuzzers of the device, FUZZ_S= seconds each (60)
	@./vgpu test --long --seconds $(FUZZ_S) $(FUZZ)

bench: ## run all benchmarks; results as a table and in build/bench.json; BASE=FILE: compare with an earlier bench.json
	@./vgpu bench $(if $(BASE),--base '$(BASE)')

bench-curves: ## measure how costs grow, at most 30 minutes: curves and exponents in build/curves.json; PUBLISH=1: draw them for the pages; BASE=FILE: compare with an earlier curves.json; continues a run that did not end, unless FRESH=1
	@./vgpu bench-curves $(if $(FROM),--from '$(FROM)') $(if $(BASE),--base '$(BASE)') $(if $(S),--seconds $(S)) $(if $(FRESH),--fresh) $(if $(PUBLISH),--publish)

qemu: ## build QEMU with the device
	@./vgpu build qemu

kernel: ## build the guest kernels, release and debug
	@./vgpu build kernel

driver: ## build the driver for both kernels
	@./vgpu build driver

rootfs: ## build the mini root file systems
	@./vgpu build rootfs

check: ## run the style checks and the static checks
	@./vgpu check

docs: ## build the documentation site: build/docs/index.html
	@./vgpu docs

pictures: ## record the demo, memory under pressure and faults in guests; draw them: docs/pictures/runs/*.svg
	@./vgpu pictures

compile_commands.json: FORCE ## write the compiler commands of device and driver, for editors
	@./vgpu compile-commands

clean: ## remove build/ (not the cache)
	rm -rf build compile_commands.json

distclean: clean ## remove build/ and the cache
	rm -rf "$${XDG_CACHE_HOME:-$$HOME/.cache}/vgpu-kfd"

help: ## print this text
	@sed -n 's/^\([a-z_.-]*\):[^#]*## /\1\t/p' Makefile | expand -t 24

FORCE:
.PHONY: demo test test-full test-long test-stress mutants kfdtest fuzz bench bench-curves qemu kernel driver rootfs check docs pictures check-cycles check-recovery clean distclean help FORCE
