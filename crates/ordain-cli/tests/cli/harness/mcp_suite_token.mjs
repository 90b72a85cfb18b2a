// Adds the client's token to the requests of the public conformance suite, which has no option for it. Loaded with `--import`;
// SUITE is the suite's file, TOKEN the token, GATEWAY where requests with it go.
import http from 'node:http';
import { createRequire, syncBuiltinESMExports } from 'node:module';

const { SUITE, TOKEN, GATEWAY } = process.env;
const value = `Bearer ${TOKEN}`;
const isOwn = url => String(url).startsWith(GATEWAY);
const has = headers => Object.keys(headers ?? {}).some(name => name.toLowerCase() === 'authorization');

const fetched = globalThis.fetch;
globalThis.fetch = (input, init = {}) => {
  if (!isOwn(input instanceof Request ? input.url : input)) return fetched(input, init);
  const headers = new Headers(init.headers ?? (input instanceof Request ? input.headers : undefined));
  headers.set('authorization', value);
  return fetched(input, { ...init, headers });
};

const requested = http.request;
http.request = (first, ...rest) => {
  if (first && typeof first === 'object' && !(first instanceof URL)) {
    const { hostname, host, port, headers } = first;
    if (isOwn(`http://${hostname ?? host}:${port}`) && !Array.isArray(headers) && !has(headers)) {
      first = { ...first, headers: { ...headers, authorization: value } };
    }
  } else if (isOwn(first) && rest[0] && typeof rest[0] === 'object' && !has(rest[0].headers)) {
    rest[0] = { ...rest[0], headers: { ...rest[0].headers, authorization: value } };
  }
  return requested(first, ...rest);
};
syncBuiltinESMExports();

const undici = createRequire(SUITE)('undici');
undici.setGlobalDispatcher(undici.getGlobalDispatcher().compose(dispatch => (options, handler) => {
  if (isOwn(options.origin) && !Array.isArray(options.headers) && !has(options.headers)) {
    options = { ...options, headers: { ...options.headers, authorization: value } };
  }
  return dispatch(options, handler);
}));
