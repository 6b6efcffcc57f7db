// Uses a server as a host does and prints what it saw, as one line of JSON:
// `client.mjs legacy|auto stdio COMMAND…` or `client.mjs legacy|auto http URL`.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const [mode, how, ...rest] = process.argv.slice(2);
if (!['legacy', 'auto'].includes(mode) || !['stdio', 'http'].includes(how) || rest.length === 0) {
    console.error('usage: client.mjs legacy|auto stdio COMMAND… | client.mjs legacy|auto http URL');
    process.exit(2);
}
const transport =
    how === 'stdio'
        ? new StdioClientTransport({ command: rest[0], args: rest.slice(1), env: process.env, stderr: 'inherit' })
        : new StreamableHTTPClientTransport(new URL(rest[0]));
const client = new Client({ name: 'typescript', version: '1.0.0' }, { versionNegotiation: { mode } });
await client.connect(transport);

const names = async (list, key) => (await list).map(entry => entry[key]).sort();
const progress = [];
const seen = {
    protocol: client.getNegotiatedProtocolVersion(),
    server: client.getServerVersion()?.name,
    tools: await names(client.listTools().then(listed => listed.tools), 'name'),
    resources: await names(client.listResources().then(listed => listed.resources), 'uri'),
    prompts: await names(client.listPrompts().then(listed => listed.prompts), 'name'),
    echo: (await client.callTool({ name: 'echo', arguments: { message: 'naïve ☃ "quoted"' } })).content,
    fails: (await client.callTool({ name: 'test_error_handling', arguments: {} })).isError,
    progressed: (
        await client.callTool(
            { name: 'test_tool_with_progress', arguments: {} },
            { onprogress: ({ progress: reached }) => progress.push(reached) },
        )
    ).content,
    progress,
    text: (await client.readResource({ uri: 'test://static-text' })).contents,
    binary: (await client.readResource({ uri: 'test://static-binary' })).contents,
    prompt: (
        await client.getPrompt({ name: 'test_prompt_with_arguments', arguments: { arg1: 'one', arg2: 'two' } })
    ).messages,
};
await client.close();
console.log(JSON.stringify(seen));
