/** `npm run screenshots -- FOLDER`: pictures of signs and console in all languages, themes and sizes, for people to look at. */
import fs from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { startTestPostgres } from '../../_util/postgres.ts';
import { startService } from '../../_util/service.ts';
import { launchBrowser } from './browser.ts';
import { openScreens } from './console-screens.ts';
import { openStates } from './sign-states.ts';

type Seen = { page: Page; violations(): Promise<string[]> };
type See = (name: string, seen: Seen) => Promise<void>;

const languages = ['de', 'en'] as const;
const signSizes = [
  [320, 568],
  [480, 800],
  [800, 480],
  [1280, 800],
  [1920, 1080],
] as const;
const consoleSizes = [
  [390, 844],
  [1280, 800],
  [1920, 1080],
] as const;

/** Takes a picture of each state, and prints its file with what axe finds. */
const pictures =
  (folder: string, look: string): See =>
  async (name, { page, violations }) => {
    const file = path.join(folder, `${name}-${look}.png`);
    await page.screenshot({ path: file });
    process.stdout.write([file, ...(await violations()).map((line) => `  ${line}`), ''].join('\n'));
  };

async function takePictures(folder: string): Promise<void> {
  const [signs, screens] = [path.join(folder, 'signs'), path.join(folder, 'console')];
  for (const each of [signs, screens]) fs.mkdirSync(each, { recursive: true });
  const postgres = await startTestPostgres();
  process.env['ROOMGATE_TEST_TEMPLATE'] = postgres.url;
  const service = await startService();
  const browser = await launchBrowser();
  const tell = (complaints: readonly string[]) =>
    process.stdout.write(complaints.map((line) => `  ${line}\n`).join(''));

  const visitScreens = await openScreens(service, browser);
  for (const [width, height] of consoleSizes)
    for (const language of languages)
      for (const theme of ['light', 'dark'] as const)
        tell(
          await visitScreens(
            { language, theme, width, height },
            pictures(screens, `${language}-${theme}-${width}x${height}`),
          ),
        );

  const { visit } = await openStates(service, browser);
  for (const [width, height] of signSizes)
    for (const language of languages)
      for (const theme of ['day', 'night'] as const)
        tell(
          await visit({ language, theme, width, height }, pictures(signs, `${language}-${theme}-${width}x${height}`)),
        );
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
