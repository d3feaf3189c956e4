/** A CSV without subjects and classes, whose lessons are all in one job: the longest that is read at once. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Service, startService } from '../_util/service.ts';
import { enterSchool } from './_util/school.ts';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

const [lines, rooms] = [100_000, 200];

test(`${lines} lines of one job are accepted`, async () => {
  const school = await enterSchool(
    service,
    Array.from({ length: rooms }, (_, at) => `R${at}`),
  );
  const line = (at: number) => {
    const slot = Math.floor(at / rooms);
    const day = new Date(Date.UTC(2032, 0, 5 + Math.floor(slot / 8))).toISOString().slice(0, 10);
    return `${at};${day};${8 + (slot % 8)}:00;${8 + (slot % 8)}:45;R${at % rooms}`;
  };
  const text = `Nr;Datum;Beginn;Ende;Raum\n${Array.from({ length: lines }, (_, at) => line(at)).join('\n')}`;
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const accepted = await school.accept({ 'all.csv': text }, {}, '?ValidateOnly=true');
  delay.disable();
  process.stderr.write(`the longest turn: ${Math.round(delay.max / 1e6)} ms\n`);
  expect(accepted).toMatchObject({ JobCount: 1, LessonCount: lines });
});
