#!/bin/sh
# Run gpualign's native code for 64-bit ARM on this machine, by qemu-user: the tests that start no process of their own.
#   apt-get install g++-aarch64-linux-gnu qemu-user-static debootstrap
#   python3 packaging/wheel.py --target aarch64 --define GPUALIGN_TESTS=ON --out build/arm64
#   sh packaging/try_arm64.sh build/arm64/*.whl [TESTS…]
set -eu
wheel=$(realpath "$1")
shift
root=$(cd "$(dirname "$0")/.." && pwd)
work=$root/build/arm64
python=3.13  # Debian 13's
mkdir -p "$work/debian" "$work/site"
if [ ! -x "$work/debian/usr/bin/python$python" ]; then
    # only unpacked: its Python runs from there, and nothing of it has to be installed
    debootstrap --arch=arm64 --foreign --variant=minbase --include=python3 trixie "$work/debian" > "$work/debian.log"
    for package in "$work"/debian/var/cache/apt/archives/*.deb; do dpkg -x "$package" "$work/debian"; done
fi
if [ ! -d "$work/site/numpy" ]; then
    for old in 2014 _2_17 _2_24 _2_27 _2_28; do platforms="${platforms:-} --platform manylinux${old}_aarch64"; done
    # shellcheck disable=SC2086
    python3 -m pip install --quiet --target "$work/site" --only-binary :all: --python-version $python --implementation cp $platforms \
        'pytest>=9' hypothesis biopython click isal numpy pysam tqdm zstandard
fi
rm -rf "$work/gpualign" && mkdir "$work/gpualign"
python3 -m zipfile -e "$wheel" "$work/gpualign"
rm -rf "$work/run" && mkdir "$work/run"
cp -r "$root/tests" "$root/examples" "$root/pyproject.toml" "$work/run"
cd "$work/run"
[ $# -gt 0 ] || set -- tests/lcs/test_kernels.py tests/verify/test_kernels.py tests/pairwise/test_kernel.py \
    tests/map/test_align_kernels.py tests/map/test_chain_align.py tests/map/test_mapping_quality.py tests/bounded_gaps/test_gapsmis.py
export PYTHONPATH="$work/gpualign:$work/site"
exec qemu-aarch64-static -L "$work/debian" "$work/debian/usr/bin/python$python" -m pytest -q -p no:cacheprovider -m 'not gpu' "$@"
