#!/usr/bin/env bash
# Packs one binary with its manual pages, completions, README, changelog and licence:
# .github/packaging/pack.sh BINARY TARGET   makes dist/kb-agent-VERSION-TARGET.tar.gz and .sha256 (.zip on Windows).
# The manual pages and completions stay in target/man and target/completions, where cargo-deb takes them.
set -euo pipefail
cd "$(dirname "$0")/../.."
binary=$1
target=$2
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
name=kb-agent-$version-$target

mkdir -p target/man target/completions
"$binary" man target/man
for shell in bash zsh fish elvish powershell; do
    "$binary" completions "$shell" >"target/completions/kb-agent.$shell"
done

rm -rf "dist/$name"
mkdir -p "dist/$name"
cp "$binary" README.md CHANGELOG.md LICENSE .env.example "dist/$name/"
cp -R target/man target/completions "dist/$name/"
cd dist
case $target in
    *windows*) archive=$name.zip && 7z a -bso0 "$archive" "$name" ;;
    *) archive=$name.tar.gz && tar -czf "$archive" "$name" ;;
esac
rm -rf "$name"
if command -v sha256sum >/dev/null; then
    sha256sum "$archive" >"$archive.sha256"
else
    shasum -a 256 "$archive" >"$archive.sha256"
fi
echo "dist/$archive"
