# nix run "git+file:///path/to/checkout?dir=.github/packaging"
{
  description = "Chat with a knowledge base in the terminal and see how each answer came about";
  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { nixpkgs, ... }:
    let
      systems = [
        "x86_64-linux"
        "aarch64-linux"
        "x86_64-darwin"
        "aarch64-darwin"
      ];
      each = nixpkgs.lib.genAttrs systems;
      manifest = (fromTOML (builtins.readFile ../../Cargo.toml)).package;
    in
    {
      packages = each (
        system:
        let
          pkgs = nixpkgs.legacyPackages.${system};
        in
        {
          default = pkgs.rustPlatform.buildRustPackage {
            pname = manifest.name;
            inherit (manifest) version;
            src = ../..;
            cargoLock.lockFile = ../../Cargo.lock;
            nativeBuildInputs = [ pkgs.installShellFiles ];
            # The tests need Python and a terminal; .ci/run runs them.
            doCheck = false;
            postInstall = ''
              mkdir man
              $out/bin/kb-agent man man
              installManPage man/*.1
              for shell in bash zsh fish; do
                $out/bin/kb-agent completions $shell > kb-agent.$shell
              done
              installShellCompletion kb-agent.{bash,zsh,fish}
            '';
            meta.mainProgram = "kb-agent";
          };
        }
      );
    };
}
