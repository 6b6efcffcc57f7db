// A server that offers what the conformance suite asks for, on standard streams
// (`server.mjs stdio`) or on HTTP (`server.mjs http`, which prints its URL). Both
// eras: sessions up to 2025-11-25, stateless from 2026-07-28. `server.mjs barren`
// is on HTTP too and offers nothing: what passes there shows nothing.

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

import {
    NodeStreamableHTTPServerTransport,
    localhostHostValidation,
    localhostOriginValidation,
    toNodeHandler,
    toWebRequest,
} from '@modelcontextprotocol/node';
import { createMcpHandler, isLegacyRequest } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

import { barren, offer } from './offer.mjs';

const [how] = process.argv.slice(2);
if (how === 'stdio') {
    serveStdio(() => offer({}));
} else if (how === 'http' || how === 'barren') {
    serveHttp(how === 'http' ? offer : barren);
} else {
    console.error('usage: server.mjs stdio | http | barren');
    process.exit(2);
}

function serveHttp(offered) {
    const handler = createMcpHandler(() => offered({ changed: handler.notify }), { legacy: 'reject' });
    const stateless = toNodeHandler(handler);
    const sessions = new Map();
    const checks = [localhostHostValidation(), localhostOriginValidation()];

    const server = createServer(async (request, response) => {
        if (!checks.every(check => check(request, response))) return;
        if (new URL(request.url, 'http://localhost').pathname !== '/mcp') {
            response.writeHead(404).end();
            return;
        }
        const parsed = request.method === 'POST' ? await json(request) : undefined;
        if (await isLegacyRequest(await toWebRequest(request, parsed), parsed)) {
            await session(sessions, request, response, parsed, offered);
        } else {
            await stateless(request, response, parsed);
        }
    });
    server.listen(0, '127.0.0.1', () => {
        console.log(`listening on http://127.0.0.1:${server.address().port}/mcp`);
    });
    process.on('SIGTERM', () => process.exit(0));
}

/** What was sent, or nothing where it is no JSON: the SDK says so to the client. */
async function json(request) {
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    try {
        return JSON.parse(Buffer.concat(pieces).toString('utf8'));
    } catch {
        return undefined;
    }
}

async function session(sessions, request, response, parsed, offered) {
    const id = request.headers['mcp-session-id'];
    let transport = sessions.get(id);
    if (id !== undefined && transport === undefined) {
        const error = { code: -32001, message: 'there is no such session' };
        response.writeHead(404, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error }));
        return;
    }
    if (transport === undefined) {
        transport = new NodeStreamableHTTPServerTransport({
            sessionIdGenerator: randomUUID,
            eventStore: events(),
            retryInterval: 500,
            onsessioninitialized: given => {
                sessions.set(given, transport);
            },
            onsessionclosed: given => {
                sessions.delete(given);
            },
        });
        await offered({}).connect(transport);
    }
    await transport.handleRequest(request, response, parsed);
}

/** Every message of a session, so that a stream can be gone on with. */
function events() {
    const kept = [];
    return {
        async storeEvent(stream, message) {
            kept.push({ stream, message });
            return `${stream}:${kept.length}`;
        },
        async getStreamIdForEventId(id) {
            return id.slice(0, id.lastIndexOf(':'));
        },
        async replayEventsAfter(last, { send }) {
            const at = last.lastIndexOf(':');
            const stream = last.slice(0, at);
            for (let index = Number(last.slice(at + 1)); index < kept.length; index++) {
                const { stream: of, message } = kept[index];
                // The event that only opens a stream holds no message.
                if (of === stream && Object.keys(message).length > 0) await send(`${of}:${index + 1}`, message);
            }
            return stream;
        },
    };
}
