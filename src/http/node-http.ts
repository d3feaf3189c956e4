/**
 * Node.js's HTTP. An import of `node:http` would read all of its exports, one of which loads the whole of fetch: 14 MB and 40 ms
 * at every start.
 */
export const nodeHttp = process.getBuiltinModule('node:http');
