//! Starts `rye lsp` for the Markdown and TOML files of a Rye project.

use zed_extension_api::{self as zed, Command, LanguageServerId, Result, Worktree};

const PROGRAM: &str = "rye";
const ARGUMENTS: [&str; 1] = ["lsp"];

struct Rye;

impl zed::Extension for Rye {
    fn new() -> Self {
        Rye
    }

    /// The program on the user's PATH. Settings are not asked: a project's own could name any program.
    fn language_server_command(
        &mut self,
        _server: &LanguageServerId,
        worktree: &Worktree,
    ) -> Result<Command> {
        if worktree.read_text_file("rye.toml").is_err() {
            return Err("This folder has no rye.toml, so `rye lsp` is not started.".into());
        }
        let command = worktree
            .which(PROGRAM)
            .ok_or("`rye` is not on the PATH. Install it with its extra `lsp`.")?;
        Ok(Command {
            command,
            args: ARGUMENTS.map(String::from).to_vec(),
            env: worktree.shell_env(),
        })
    }
}

zed::register_extension!(Rye);
