//! Which files hold secrets by their names: `assets/secret-files.txt` says so.

use std::path::Path;
use std::sync::LazyLock;

use crate::globs::{BadGlob, Globs};

const LIST: &str = include_str!("../../../../assets/secret-files.txt");

static NAMES: LazyLock<Option<SecretNames>> = LazyLock::new(|| SecretNames::parse(LIST).ok());

/// What a file at this path below a root holds by its name; `None` for one like any other.
pub(super) fn held_by(relative: &Path) -> Option<&'static str> {
    NAMES.as_ref()?.held_by(relative)
}

struct SecretNames {
    globs: Globs,
    /// For each of them what such a file holds; `None` takes the name out again.
    holds: Vec<Option<&'static str>>,
}

impl SecretNames {
    fn parse(list: &'static str) -> Result<Self, BadGlob> {
        let lines = list.lines().map(str::trim);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let (mut patterns, mut holds) = (Vec::new(), Vec::new());
        for line in lines {
            let (pattern, held) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            let taken_out = pattern.strip_prefix('!');
            patterns.push(taken_out.unwrap_or(pattern));
            holds.push(taken_out.is_none().then_some(held.trim()));
        }
        let globs = Globs::new(patterns)?;
        Ok(Self { globs, holds })
    }

    fn held_by(&self, relative: &Path) -> Option<&'static str> {
        *self.holds.get(self.globs.last_that_fits(relative)?)?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_every_line_of_the_list_says_what_is_held() {
        let names = SecretNames::parse(LIST).ok().unwrap();
        assert!(names.holds.len() > 80);
        assert!(names.holds.iter().flatten().all(|held| !held.is_empty()));
    }

    #[test]
    fn trust_what_holds_secrets_by_its_name_is_known() {
        for path in [
            ".env",
            ".env.local",
            "app/.env.production",
            ".envrc",
            "secret.env",
            "prod.env",
            "docker.env.local",
            "server.pem",
            "tls/SERVER.KEY",
            "id_rsa",
            "id_ed25519",
            "backup/id_rsa.bak",
            "id_ecdsa_work",
            "deploy_ed25519",
            "work.id_rsa",
            "a.kdbx",
            "a.p12",
            "a.pfx",
            "a.jks",
            "release.keystore",
            ".netrc",
            "_netrc",
            ".npmrc",
            ".pypirc",
            ".htpasswd",
            "credentials",
            ".aws/credentials",
            "credentials.json",
            "secrets.yaml",
            "k8s/secrets.json",
            "secrets.txt",
            "putty.ppk",
            "my-private.asc",
            "secret-key.gpg",
            "private_key.asc",
            ".git-credentials",
            "kubeconfig",
            "prod.kubeconfig",
            ".kube/config",
            "terraform.tfstate",
            "terraform.tfstate.backup",
            "prod.tfvars",
            "passwords.txt",
            "client_secret_12.apps.json",
            "my-service-account.json",
            ".docker/config.json",
            "ssh_host_rsa_key",
            "wallet.dat",
            "etc/shadow",
            "secring.gpg",
        ] {
            assert!(held_by(Path::new(path)).is_some(), "{path}");
        }
    }

    #[test]
    fn trust_a_note_about_secrets_is_a_note() {
        for path in [
            "secrets-management.md",
            "id_card.md",
            "secrets.md",
            "secrets.rs",
            "secret.md",
            "id_rsa.md",
            "id_rsa-rotation.md",
            "id_rsa.pub",
            "id_ed25519.pub",
            "keys.md",
            "keynote.txt",
            "monkey.txt",
            "environment.md",
            "dotenv.md",
            "env.md",
            ".env.example",
            "docker.env.example",
            "credentials.md",
            "credentials-policy.docx",
            "password.md",
            "passwords.html",
            "password.py",
            "pem-files.md",
            "guide.asc",
            "release.asc",
            "report.pdf",
            "kubeconfig.md",
            "terraform.md",
            "main.tf",
            "shadow.md",
            "id.md",
            "identity.md",
            "id_token.md",
            "private.md",
            "netrc.md",
            "npmrc.md",
            "wallet.md",
            "config.json",
            "settings.xml",
            "accounts.csv",
            "service-account.md",
            "rsa.md",
        ] {
            assert_eq!(held_by(Path::new(path)), None, "{path}");
        }
    }
}
