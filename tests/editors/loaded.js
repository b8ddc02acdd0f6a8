// Loads the extension for Visual Studio Code with stand-ins, plays a session, and prints what it asked of them.
"use strict";

const Module = require("module");
const [extension, setting, broken] = process.argv.slice(2);
const said = { clients: [], errors: [], commands: {}, watched: [], stopped: 0 };

class LanguageClient {
  constructor(id, name, server, options) {
    this.made = { id, name, server, options, started: false };
    said.clients.push(this.made);
  }

  async start() {
    if (broken === "broken") {
      throw new Error("spawn ENOENT");
    }
    this.made.started = true;
  }

  async stop() {
    said.stopped += 1;
  }
}

const vscode = {
  commands: {
    registerCommand: (name, run) => {
      said.commands[name] = run;
      return { dispose() {} };
    },
  },
  window: { showErrorMessage: (message) => said.errors.push(message) },
  workspace: {
    getConfiguration: (section) => ({ get: (key) => (`${section}.${key}` === "rye.path" ? setting : undefined) }),
    onDidChangeConfiguration: (react) => {
      said.watched.push(react);
      return { dispose() {} };
    },
  },
};

const load = Module._load;
Module._load = function (name, ...rest) {
  if (name === "vscode") return vscode;
  if (name === "vscode-languageclient/node") return { LanguageClient };
  return load.call(this, name, ...rest);
};

(async () => {
  const loaded = require(extension);
  const context = { extensionPath: "/extension", subscriptions: [] };
  await loaded.activate(context);
  await said.watched[0]({ affectsConfiguration: (name) => name === "editor.fontSize" });
  const before = said.clients.length;
  await said.watched[0]({ affectsConfiguration: (name) => name === "rye.path" });
  await said.commands["rye.restart"]();
  await loaded.deactivate();
  console.log(JSON.stringify({ ...said, before, commands: Object.keys(said.commands), kept: context.subscriptions.length }));
})();
