/** The console in a browser, as a person sees it. */
import fs from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Browser } from 'playwright-core';
import { createPin } from '../../../src/identity/service.ts';
import { pepper } from '../../_util/pepper.ts';
import type { Service } from '../../_util/service.ts';

export type ConsoleOptions = {
  role?: 'Admin' | 'Importer' | 'User' | 'Display';
  language?: 'de' | 'en';
  theme?: 'light' | 'dark';
  width?: number;
  height?: number;
};

/** What the browser is led to. */
export type Site = Pick<Service, 'url' | 'tenant'> & { context: Pick<Service['context'], 'db'> };

type Found = { violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] };

const axe = fs.readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

/** A browser of its own, at the sign-in of the service's tenant. */
export async function openConsole(browser: Browser, service: Site, options: ConsoleOptions = {}) {
  const { role = 'Admin', language = 'en', theme = 'light', width = 1280, height = 800 } = options;
  const { url, tenant } = service;
  const context = await browser.newContext({
    viewport: { width, height },
    locale: language,
    colorScheme: theme,
    reducedMotion: 'reduce',
    timezoneId: 'Europe/Berlin',
  });
  // Longer than the busiest machine needs.
  context.setDefaultTimeout(100_000);
  // Messages wait for slow machines, as they do for slow readers.
  await context.addInitScript("localStorage.setItem('roomgate stay', 'always')");
  const page = await context.newPage();
  /** What the policy or the page complained of, and what was asked of another host. */
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.stack ?? error.message));
  page.on('console', (line) => {
    // It says of each request that failed, too; and a policy that is violated is an error here.
    if (line.type() === 'error' && !/^Failed to load resource|WebSocket connection to/.test(line.text()))
      complaints.push(line.text());
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(`${url}/`)) complaints.push(`foreign request: ${request.url()}`);
  });

  return {
    ...{ context, page, complaints },
    open: (query = '') => page.goto(`${url}/${tenant.code}/console${query}`),
    async signIn(): Promise<void> {
      const { pin } = await createPin(service.context.db, pepper, {
        mandatorId: tenant.mandatorId,
        personId: tenant.person(role).id,
      });
      await page.getByLabel('PIN').fill(pin);
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: `${role} of ${tenant.code}` }).waitFor();
    },
    /** The rules of WCAG 2.2 AA, and of good practice, that it breaks, with where. */
    async violations(): Promise<string[]> {
      if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe);
      // What is still fading in has not yet its contrast.
      await page.evaluate('Promise.allSettled(document.getAnimations().map(({ finished }) => finished))');
      const { violations } = await page.evaluate<Found>(`axe.run({ resultTypes: ['violations'] })`);
      return violations.map(
        ({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join(' | ')}`,
      );
    },
    close: () => context.close(),
  };
}
