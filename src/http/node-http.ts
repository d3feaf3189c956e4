/**
 * The module `node:http`. Importing it would evaluate all of its exports, one of which loads all of fetch: 14 MB and 40
 * ms at every start.
 */
export const nodeHttp = process.getBuiltinModule('node:http');

/**
 * The classes of the requests and responses of one server, which inherit from what `inherit` is given, once for all. To give each object
 * another prototype would make all later use of it slower.
 */
export function openMessages() {
  class IncomingMessage extends nodeHttp.IncomingMessage {}
  class ServerResponse extends nodeHttp.ServerResponse {}
  return {
    classes: {
      IncomingMessage: IncomingMessage as typeof nodeHttp.IncomingMessage,
      ServerResponse: ServerResponse as typeof nodeHttp.ServerResponse,
    },
    /** @param app an Express application */
    inherit({ request, response }: { request: object; response: object }): void {
      Object.setPrototypeOf(IncomingMessage.prototype, request);
      Object.setPrototypeOf(ServerResponse.prototype, response);
    },
  };
}
