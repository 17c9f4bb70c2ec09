# SPDX-License-Identifier: GPL-2.0-or-later
#
# A target for each task of a user. Each calls ./vgpu (tools/vgpu_tools; see ./vgpu help).
#
#   QEMU_SRC=DIR KERNEL_SRC=DIR   build these source trees instead of Debian's
#   S=N                           seconds for each long test
#   SUITE=NAME                    run only that suite (make test, test-full, test-long)
#   CHANGED=1                     run only tests that the changed files can break (make test)
#   FUZZ_S=N FUZZ=NAME            seconds for each fuzzer, run only that fuzzer (make fuzz)

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
export QEMU_SRC KERNEL_SRC

demo: ## build everything, boot, run the demo
	@./vgpu demo

test: ## the basic pass of every suite; the last line is the sum; CHANGED=1: only tests that changed files can break
	@./vgpu test $(if $(CHANGED),--changed,$(SUITE))

test-full: ## every test of every suite
	@./vgpu test --full $(SUITE)

test-long: ## the long forms of the suites, S= seconds each
	@./vgpu test --long $(if $(S),--seconds $(S)) $(SUITE)

test-stress: ## the basic pass N= times (1) beside stress-ng, with random delays, SEED=; results in build/stress.json
	@./vgpu test-stress $(if $(N),--rounds $(N)) $(if $(SEED),--seed $(SEED))

check-recovery: ## inject GART loss, engine hangs and resets under load, N= times each (50); a table
	@./vgpu check-recovery $(if $(N),--repeat $(N))

check-cycles: ## sleep (VRAM lost, kept; disk, idle), hot plug, module reload under load, N= times each (20); KERNEL=debug
	@./vgpu check-cycles $(if $(N),--repeat $(N)) $(if $(KERNEL),--kernel $(KERNEL))

mutants: ## does a pass catch the defects of tests/mutants? PASS=basic, full or changed, MUTANT= names; long, can be resumed
	@./vgpu mutants $(if $(PASS),--pass $(PASS)) $(MUTANT)

kfdtest: ## AMD's conformance test of KFD, a line a test, sums; FILTER= gtest's patterns, CLASSES=ABC, GPUS=, HIVE=1, KERNEL=
	@./vgpu kfdtest $(if $(FILTER),'--filter=$(FILTER)') $(if $(CLASSES),--classes $(CLASSES)) $(if $(GPUS),--gpus $(GPUS)) $(if $(HIVE),--hive) $(if $(KERNEL),--kernel $(KERNEL))

FUZZ_S ?= 60
FUZZ ?= fuzz-model fuzz-generic
fuzz: ## the fuzzers of the device, FUZZ_S= seconds each
	@./vgpu test --long --seconds $(FUZZ_S) $(FUZZ)

bench: ## all benchmarks, as a table and as build/bench.json
	@./vgpu bench

qemu: ## QEMU with the device
	@./vgpu build qemu

kernel: ## the guest kernels, release and debug
	@./vgpu build kernel

driver: ## the driver, for both kernels
	@./vgpu build driver

rootfs: ## the mini root file systems
	@./vgpu build rootfs

check: ## style and static checks
	@./vgpu check

compile_commands.json: FORCE ## compiler commands of device and driver, for editors
	@./vgpu compile-commands

clean: ## remove build/ (the cache stays)
	rm -rf build compile_commands.json

distclean: clean ## remove the cache as well
	rm -rf "$${XDG_CACHE_HOME:-$$HOME/.cache}/vgpu-kfd"

help: ## this text
	@sed -n 's/^\([a-z_.-]*\):[^#]*## /\1\t/p' Makefile | expand -t 24

FORCE:
.PHONY: demo test test-full test-long test-stress mutants kfdtest fuzz bench qemu kernel driver rootfs check check-cycles check-recovery clean distclean help FORCE
