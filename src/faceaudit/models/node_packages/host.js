// Keeps a package of npm open, and answers about images: a line of JSON in, a line out.
//
//   node host.js human.js FOLDER SETTINGS
//
// FOLDER holds node_modules; SETTINGS are the package's own, as JSON. A line in has height, width and
// rgb (base64, a byte a channel, row by row); a line out has `values`, null where no face was found, or
// `error`. The first line out says that the package is ready.
'use strict';

const readline = require('node:readline');

const write = (line) => process.stdout.write(JSON.stringify(line) + '\n');

// What a package says does not come between the answers.
for (const name of ['log', 'info', 'debug', 'warn']) {
  console[name] = console.error;
}

// Networks are on disk, and no request leaves.
const forbid = async (url) => {
  throw new Error(`the package asks for ${url}, and no request may leave`);
};
globalThis.fetch = forbid;

async function main() {
  const [script, folder, settings] = process.argv.slice(2);
  const answer = await require(script).open(folder, JSON.parse(settings));
  write({ ready: true });
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { height, width, rgb } = JSON.parse(line);
    try {
      const values = await answer(new Uint8Array(Buffer.from(rgb, 'base64')), height, width);
      write({ values });
    } catch (error) {
      write({ error: String(error) });
    }
  }
}

main().catch((error) => {
  write({ error: String(error) });
  process.exit(1);
});
