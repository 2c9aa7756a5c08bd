// Compiles every contract: writes init code in hex to artifacts. Same settings, same compiler, same bytes.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import solc from 'solc';

const here = path.dirname(fileURLToPath(import.meta.url));
const out = path.join(here, 'artifacts');
fs.mkdirSync(out, { recursive: true });

function compile(language, file, settings) {
  const content = fs.readFileSync(path.join(here, file), 'utf8');
  const input = {
    language,
    sources: { [path.basename(file)]: { content } },
    settings: {
      evmVersion: 'osaka',
      outputSelection: { '*': { '*': ['evm.bytecode.object'] } },
      ...settings,
    },
  };
  const result = JSON.parse(solc.compile(JSON.stringify(input)));
  for (const error of result.errors ?? []) {
    if (error.severity === 'error') throw new Error(error.formattedMessage);
  }
  for (const contracts of Object.values(result.contracts)) {
    for (const [name, contract] of Object.entries(contracts)) {
      const code = contract.evm.bytecode.object;
      if (code) fs.writeFileSync(path.join(out, `${name}.hex`), code + '\n');
    }
  }
}

const optimizer = { enabled: true, runs: 1000000 };
for (const file of fs.readdirSync(path.join(here, 'yul')).sort()) {
  compile('Yul', `yul/${file}`, { optimizer: { ...optimizer, details: { yul: true } } });
}
for (const file of fs.readdirSync(path.join(here, 'solidity')).sort()) {
  // Without the hash of the metadata, whose bytes depend on paths.
  compile('Solidity', `solidity/${file}`, { optimizer, viaIR: true, metadata: { bytecodeHash: 'none', appendCBOR: false } });
}
