/** One line of `roomgate doctor`; a remedy where something is to be done. */
export type Finding = {
  check: string;
  level: 'ok' | 'warning' | 'fault';
  text: string;
  remedy?: string;
};
