#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Builds AMD's kfdtest from the thunk's source. Runs in a temporary chroot: /src is the source, /out receives
# the program and AMD's list of excluded tests for each chip.

set -e
cd /src/tests/kfdtest

# Debian's source has no copy of googletest: replace the folder that the build expects by Debian's package.
googletest=/usr/src/googletest/googletest
if [ ! -e gtest-1.6.0 ]; then
	mkdir gtest-1.6.0
	echo '#include <src/gtest-all.cc>' >gtest-1.6.0/gtest-all.cpp
fi

# Link the few parts of LLVM that kfdtest needs, because an emulated CPU takes seconds to load all of libLLVM.
llvm=$(dirname "$(ls -d /usr/lib/llvm-*/lib/cmake/llvm/LLVMConfig.cmake | sort -V | tail -n 1)")
sed -i 's/set(LLVM_LINK_LLVM_DYLIB ON)/set(LLVM_LINK_LLVM_DYLIB OFF)/' "$llvm/LLVMConfig.cmake"

# Include headers that some files of kfdtest do not include; older compilers include them through other headers.
CXXFLAGS="-O2 -include iomanip -include tuple -include llvm/Support/ManagedStatic.h"
export CXXFLAGS="$CXXFLAGS -I${llvm%/lib/cmake/llvm}/include -I$googletest"
cmake -S . -B /build -DCMAKE_BUILD_TYPE=Release -DLLVM_DIR="$llvm"
make -C /build "-j$(nproc)"

mkdir -p /out
strip -o /out/kfdtest /build/kfdtest
cp scripts/kfdtest.exclude /out/
