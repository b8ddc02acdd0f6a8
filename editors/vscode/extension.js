// Starts `rye lsp` for the files of Rye projects. No build step: this file is what runs.
"use strict";

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

/** The files that are sent to the server: texts in a project's own space and among its customizations, and its manifests. */
const SELECTOR = [
  { scheme: "file", language: "markdown", pattern: "**/.ai/**/*.md" },
  { scheme: "file", pattern: "**/.ai/**/*.formula.toml" },
  { scheme: "file", pattern: "**/.ai/**/*.bundle.toml" },
  { scheme: "file", pattern: "**/rye.toml" },
];

let client;
let folder;

/** Start the server. It works in the extension's own folder, never in the project: no file there can take a module's place. */
async function start() {
  const program = vscode.workspace.getConfiguration("rye").get("path") || "rye";
  const server = { command: program, args: ["lsp"], options: { cwd: folder } };
  client = new LanguageClient("rye", "Rye", server, { documentSelector: SELECTOR });
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    vscode.window.showErrorMessage(
      `Rye: "${program} lsp" did not start. Install Rye with its extra "lsp", or set "rye.path". (${error.message})`,
    );
  }
}

async function stop() {
  const running = client;
  client = undefined;
  if (running !== undefined) {
    await running.stop();
  }
}

async function restart() {
  await stop();
  await start();
}

async function activate(context) {
  folder = context.extensionPath;
  context.subscriptions.push(
    vscode.commands.registerCommand("rye.restart", restart),
    vscode.workspace.onDidChangeConfiguration((change) => (change.affectsConfiguration("rye.path") ? restart() : undefined)),
  );
  await start();
}

module.exports = { activate, deactivate: stop };
