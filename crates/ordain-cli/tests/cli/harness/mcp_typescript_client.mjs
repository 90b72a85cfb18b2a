// One call with a TypeScript SDK: `PACKAGE URL TOKEN TOOL`, with PACKAGES for the folder of packages. `sdk` is the one of the
// first major version, `client` that of the second.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [name, url, token, tool] = process.argv.slice(2);
const require = createRequire(pathToFileURL(`${process.env.PACKAGES}/x.js`));
const load = async path => import(pathToFileURL(require.resolve(path)));
const { Client } = await load(name === 'sdk' ? '@modelcontextprotocol/sdk/client/index.js' : '@modelcontextprotocol/client');
const { StreamableHTTPClientTransport } =
  await load(name === 'sdk' ? '@modelcontextprotocol/sdk/client/streamableHttp.js' : '@modelcontextprotocol/client');
const client = new Client({ name: 'test', version: '1' });
await client.connect(new StreamableHTTPClientTransport(new URL(url), {
  requestInit: { headers: { authorization: `Bearer ${token}` } },
}));
const { tools } = await client.listTools();
const result = await client.callTool({ name: tool, arguments: {} });
console.log(JSON.stringify({ tools: tools.map(tool => tool.name), error: result.isError ?? false, text: result.content[0].text }));
await client.close();
