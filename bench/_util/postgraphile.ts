/** PostGraphile 5 on the bench's database, from the folder PEER_FOLDER where `read` has installed it. */
import http from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const { env } = process;
const { resolve } = createRequire(path.join(env['PEER_FOLDER'] ?? '', 'package.json'));
const load = (name: string) => import(pathToFileURL(resolve(name)).href);

const { postgraphile } = await load('postgraphile');
const { PostGraphileAmberPreset } = await load('postgraphile/presets/amber');
const { makePgService } = await load('postgraphile/adaptors/pg');
const { grafserv } = await load('postgraphile/grafserv/node');

const instance = postgraphile({
  extends: [PostGraphileAmberPreset],
  pgServices: [makePgService({ connectionString: env['DATABASE_URL'], poolConfig: { max: 8 }, schemas: ['public'] })],
  grafserv: { graphqlPath: '/graphql', graphiql: false, watch: false, websockets: false },
  grafast: { explain: false },
});
const server = http.createServer(await instance.createServ(grafserv).createHandler());
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.on('disconnect', () => process.exit());
