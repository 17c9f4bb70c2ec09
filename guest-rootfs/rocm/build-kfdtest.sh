#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Builds AMD's kfdtest from the thunk's source. Runs in a chroot that is thrown away: /src is the source, /out takes
# the program and the list of tests that AMD leaves out for each chip.

set -e
cd /src/tests/kfdtest

# Debian's source has no copy of googletest: its own package stands in for the folder that the build looks into.
googletest=/usr/src/googletest/googletest
if [ ! -e gtest-1.6.0 ]; then
	mkdir gtest-1.6.0
	echo '#include <src/gtest-all.cc>' >gtest-1.6.0/gtest-all.cpp
fi

# The few parts of LLVM that it needs are linked in: loading all of libLLVM takes an emulated CPU seconds.
llvm=$(dirname "$(ls -d /usr/lib/llvm-*/lib/cmake/llvm/LLVMConfig.cmake | sort -V | tail -n 1)")
sed -i 's/set(LLVM_LINK_LLVM_DYLIB ON)/set(LLVM_LINK_LLVM_DYLIB OFF)/' "$llvm/LLVMConfig.cmake"

# Headers that some files forget, found by older compilers through others.
CXXFLAGS="-O2 -include iomanip -include tuple -include llvm/Support/ManagedStatic.h"
export CXXFLAGS="$CXXFLAGS -I${llvm%/lib/cmake/llvm}/include -I$googletest"
cmake -S . -B /build -DCMAKE_BUILD_TYPE=Release -DLLVM_DIR="$llvm"
make -C /build "-j$(nproc)"

mkdir -p /out
strip -o /out/kfdtest /build/kfdtest
cp scripts/kfdtest.exclude /out/
