#!/usr/bin/env bash
# Prints a Homebrew formula for the archives in dist/: .github/packaging/formula.sh REPOSITORY_URL
set -euo pipefail
cd "$(dirname "$0")/../.."
repository=$1
field() { sed -n "s/^$1 = \"\(.*\)\"/\1/p" Cargo.toml | head -n 1; }
version=$(field version)

source_of() {
    local archive=kb-agent-$version-$1.tar.gz
    echo "      url \"$repository/releases/download/v$version/$archive\""
    echo "      sha256 \"$(cut -d ' ' -f 1 "dist/$archive.sha256")\""
}

cat <<FORMULA
class KbAgent < Formula
  desc "$(field description)"
  homepage "$repository"
  version "$version"
  license "$(field license)"

  on_macos do
    on_arm do
$(source_of aarch64-apple-darwin)
    end
    on_intel do
$(source_of x86_64-apple-darwin)
    end
  end

  on_linux do
    on_arm do
$(source_of aarch64-unknown-linux-musl)
    end
    on_intel do
$(source_of x86_64-unknown-linux-musl)
    end
  end

  def install
    bin.install "kb-agent"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/kb-agent.bash" => "kb-agent"
    zsh_completion.install "completions/kb-agent.zsh" => "_kb-agent"
    fish_completion.install "completions/kb-agent.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/kb-agent --version")
  end
end
FORMULA
