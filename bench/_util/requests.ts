/** Requests as the load generator sends them. */
export function requestsOf(token: string) {
  const common = `Host: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\nAccept: application/json\r\n`;
  return {
    get: (address: string) => `GET ${address} HTTP/1.1\r\n${common}\r\n`,
    post(address: string, body: object): string {
      const text = JSON.stringify(body);
      return `POST ${address} HTTP/1.1\r\n${common}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
    },
  };
}
