/** `npm run screenshots -- FOLDER`: pictures of the signs in all their states, languages and sizes, for people to look at. */
import fs from 'node:fs';
import path from 'node:path';
import { startTestPostgres } from '../../_util/postgres.ts';
import { startService } from '../../_util/service.ts';
import { launchBrowser } from './browser.ts';
import { openStates } from './sign-states.ts';

const sizes = [
  [320, 568],
  [480, 800],
  [800, 480],
  [1280, 800],
  [1920, 1080],
] as const;
const languages = ['de', 'en'] as const;
const themes = ['day', 'night'] as const;

async function takePictures(folder: string): Promise<void> {
  fs.mkdirSync(folder, { recursive: true });
  const postgres = await startTestPostgres();
  process.env['ROOMGATE_TEST_TEMPLATE'] = postgres.url;
  const service = await startService();
  const browser = await launchBrowser();
  const { visit } = await openStates(service, browser);
  for (const [width, height] of sizes)
    for (const language of languages)
      for (const theme of themes) {
        const complaints = await visit({ language, theme, width, height }, async (name, sign) => {
          const file = path.join(folder, `${name}-${language}-${theme}-${width}x${height}.png`);
          await sign.page.screenshot({ path: file });
          const violations = await sign.violations();
          process.stdout.write([file, ...violations.map((line) => `  ${line}`), ''].join('\n'));
        });
        process.stdout.write(complaints.map((line) => `  ${line}\n`).join(''));
      }
  await browser.close();
  await service.stop();
  await postgres.stop();
}

const [folder] = process.argv.slice(2);
if (folder) await takePictures(folder);
else {
  process.stderr.write('npm run screenshots -- FOLDER\n');
  process.exitCode = 2;
}
