// Tools, resources and prompts by the names that the conformance suite knows.

import { McpServer, ResourceTemplate, createRequestStateCodec, fromJsonSchema } from '@modelcontextprotocol/server';
import * as z from 'zod/v4';

import { asking } from './asking.mjs';

// One red dot, and a hundredth of a second of silence.
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
const WAV = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=';

const PAUSE = 50;
const pause = () => new Promise(resolve => setTimeout(resolve, PAUSE));

export const text = words => ({ type: 'text', text: words });
export const says = words => ({ content: [text(words)] });

// States that clients hand back are sealed by whoever serves this process.
const key = crypto.getRandomValues(new Uint8Array(32));
const states = createRequestStateCodec({ key });

/** A server that is connected to nothing yet; `changed` tells subscribers what changed. */
export function offer({ changed }) {
    const server = new McpServer(
        { name: 'everything-asked-for', version: '1.0.0' },
        {
            capabilities: {
                tools: { listChanged: true },
                resources: { subscribe: true, listChanged: true },
                prompts: { listChanged: true },
                logging: {},
                completions: {},
            },
            requestState: { verify: states.verify },
        },
    );
    contents(server);
    behaviours(server, changed);
    asking(server, states);
    resources(server);
    prompts(server);
    server.server.setRequestHandler('completion/complete', async () => ({
        completion: { values: ['paris', 'park', 'party'], total: 3, hasMore: false },
    }));
    server.server.setRequestHandler('logging/setLevel', async () => ({}));
    return server;
}

/** A server that offers nothing. */
export function barren() {
    return new McpServer({ name: 'nothing', version: '1.0.0' }, { capabilities: {} });
}

function contents(server) {
    const image = { type: 'image', data: PNG, mimeType: 'image/png' };
    const resource = (uri, mimeType, words) => ({ type: 'resource', resource: { uri, mimeType, text: words } });
    const tools = {
        test_simple_text: [text('This is a simple text response for testing.')],
        test_image_content: [image],
        test_audio_content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }],
        test_embedded_resource: [
            resource('test://embedded-resource', 'text/plain', 'This is an embedded resource content.'),
        ],
        test_multiple_content_types: [
            text('Multiple content types test:'),
            image,
            resource('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
        ],
    };
    for (const [name, content] of Object.entries(tools)) {
        server.registerTool(name, { description: `Returns fixed content: ${name}` }, async () => ({ content }));
    }
}

function behaviours(server, changed) {
    const none = z.object({});
    server.registerTool(
        'test_tool_with_logging',
        { description: 'Logs three lines while it runs', inputSchema: none },
        async (_, { mcpReq }) => {
            for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
                await mcpReq.notify({ method: 'notifications/message', params: { level: 'info', data } });
                await pause();
            }
            return says('logged');
        },
    );
    server.registerTool(
        'test_tool_with_progress',
        { description: 'Reports how far it is', inputSchema: none },
        async (_, { mcpReq }) => {
            const progressToken = mcpReq._meta?.progressToken;
            for (const progress of [0, 50, 100]) {
                if (progressToken !== undefined) {
                    await mcpReq.notify({
                        method: 'notifications/progress',
                        params: { progressToken, progress, total: 100 },
                    });
                }
                await pause();
            }
            return says('done');
        },
    );
    server.registerTool('test_error_handling', { description: 'Always fails' }, async () => {
        throw new Error('This tool intentionally returns an error for testing');
    });
    server.registerTool(
        'test_reconnection',
        { description: 'Closes the stream that it should answer on', inputSchema: none },
        async (_, { http }) => {
            http?.closeSSE?.();
            await pause();
            return says('answered after the stream was closed');
        },
    );
    server.registerTool(
        'json_schema_2020_12_tool',
        { description: 'Has a schema with many keywords', inputSchema: fromJsonSchema(SCHEMA) },
        async () => says('called'),
    );
    server.registerTool('test_logging_tool', { description: 'Logs if it is asked to' }, async ({ mcpReq }) => {
        await mcpReq.log('info', 'Tool execution started');
        return says('logged');
    });
    server.registerTool('test_trigger_tool_change', { description: 'Says that the tools changed' }, async () => {
        if (changed) changed.toolsChanged();
        else server.sendToolListChanged();
        return says('said');
    });
    server.registerTool('test_trigger_prompt_change', { description: 'Says that the prompts changed' }, async () => {
        if (changed) changed.promptsChanged();
        else server.sendPromptListChanged();
        return says('said');
    });
    const region = { type: 'string', 'x-mcp-header': 'Region' };
    server.registerTool(
        'test_headers',
        {
            description: 'Has an argument that a header repeats',
            inputSchema: fromJsonSchema({ type: 'object', properties: { region }, required: ['region'] }),
        },
        async ({ region }) => says(region),
    );
    server.registerTool(
        'echo',
        { description: 'Returns what it is given', inputSchema: z.object({ message: z.string() }) },
        async ({ message }) => says(message),
    );
}

const SCHEMA = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: {
        address: {
            $anchor: 'addressDef',
            type: 'object',
            properties: { street: { type: 'string' }, city: { type: 'string' } },
        },
    },
    properties: {
        name: { type: 'string' },
        address: { $ref: '#/$defs/address' },
        contactMethod: { type: 'string', enum: ['phone', 'email'] },
        phone: { type: 'string' },
        email: { type: 'string' },
    },
    allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
    if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
    then: { required: ['phone'] },
    else: { required: ['email'] },
    additionalProperties: false,
};

function resources(server) {
    const fixed = (name, uri, mimeType, content) =>
        server.registerResource(name, uri, { title: name, description: `Fixed: ${name}`, mimeType }, async () => ({
            contents: [{ uri, mimeType, ...content }],
        }));
    const words = 'This is the content of the static text resource.';
    fixed('static-text', 'test://static-text', 'text/plain', { text: words });
    fixed('static-binary', 'test://static-binary', 'image/png', { blob: PNG });
    fixed('watched-resource', 'test://watched-resource', 'text/plain', { text: 'watched' });
    server.registerResource(
        'template',
        new ResourceTemplate('test://template/{id}/data', { list: undefined }),
        { title: 'template', description: 'A record by its number', mimeType: 'application/json' },
        async (uri, { id }) => {
            const record = { id, templateTest: true, data: `Data for ID: ${id}` };
            return { contents: [{ uri: uri.toString(), mimeType: 'application/json', text: JSON.stringify(record) }] };
        },
    );
    for (const method of ['resources/subscribe', 'resources/unsubscribe']) {
        server.server.setRequestHandler(method, async () => ({}));
    }
}

function prompts(server) {
    const user = content => ({ role: 'user', content });
    const described = (title, argsSchema) => ({ title, description: `For tests: ${title}`, argsSchema });
    server.registerPrompt('test_simple_prompt', described('simple'), async () => ({
        messages: [user(text('This is a simple prompt for testing.'))],
    }));
    server.registerPrompt(
        'test_prompt_with_arguments',
        described('with arguments', z.object({ arg1: z.string(), arg2: z.string() })),
        async ({ arg1, arg2 }) => ({
            messages: [user(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`))],
        }),
    );
    server.registerPrompt(
        'test_prompt_with_embedded_resource',
        described('with a resource', z.object({ resourceUri: z.string() })),
        async ({ resourceUri: uri }) => ({
            messages: [
                user({
                    type: 'resource',
                    resource: { uri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' },
                }),
                user(text('Please process the embedded resource above.')),
            ],
        }),
    );
    server.registerPrompt('test_prompt_with_image', described('with an image'), async () => ({
        messages: [user({ type: 'image', data: PNG, mimeType: 'image/png' }), user(text('Please look at the image.'))],
    }));
}
