// What asks the client back: with requests of its own up to 2025-11-25, with
// results that want input from 2026-07-28.

import { acceptedContent, inputRequired } from '@modelcontextprotocol/server';
import * as z from 'zod/v4';

import { says, text } from './offer.mjs';

const object = (properties, required = Object.keys(properties)) => ({ type: 'object', properties, required });
const words = (extra = {}) => ({ type: 'string', ...extra });
const titled = (titles, prefix) => titles.map((title, at) => ({ const: `${prefix}${at + 1}`, title }));
const question = (message, properties) => inputRequired.elicit({ message, requestedSchema: object(properties) });
const sample = (prompt, maxTokens) =>
    inputRequired.createMessage({ messages: [{ role: 'user', content: text(prompt) }], maxTokens });

// Asked on the stream of the call: the one that belongs to no call may not be open yet.
const form = (mcpReq, message, requestedSchema) =>
    mcpReq.send({ method: 'elicitation/create', params: { message, requestedSchema } });

export function asking(server, states) {
    directly(server);
    byResults(server, states);
}

function directly(server) {
    server.registerTool(
        'test_sampling',
        { description: 'Asks the model of the client', inputSchema: z.object({ prompt: z.string() }) },
        async ({ prompt }, { mcpReq }) => {
            const messages = [{ role: 'user', content: text(prompt) }];
            const params = { messages, maxTokens: 100 };
            const { content } = await mcpReq.send({ method: 'sampling/createMessage', params });
            return says(`LLM response: ${content.text}`);
        },
    );
    server.registerTool(
        'test_elicitation',
        { description: 'Asks the user', inputSchema: z.object({ message: z.string() }) },
        async ({ message }, { mcpReq }) => {
            const fields = { username: words({ description: 'A name' }), email: words({ description: 'An address' }) };
            const { action, content } = await form(mcpReq, message, object(fields));
            return says(`User response: action=${action}, content=${JSON.stringify(content ?? {})}`);
        },
    );
    for (const [name, [message, fields]] of Object.entries(FORMS)) {
        server.registerTool(
            name,
            { description: `Asks the user with a form: ${name}`, inputSchema: z.object({}) },
            async (_, { mcpReq }) => {
                const { action, content } = await form(mcpReq, message, object(fields, []));
                return says(`Elicitation completed: action=${action}, content=${JSON.stringify(content ?? {})}`);
            },
        );
    }
}

const OPTIONS = ['option1', 'option2', 'option3'];
const FORMS = {
    test_elicitation_sep1034_defaults: [
        'Please look at the fields',
        {
            name: words({ default: 'John Doe' }),
            age: { type: 'integer', default: 30 },
            score: { type: 'number', default: 95.5 },
            status: words({ enum: ['active', 'inactive', 'pending'], default: 'active' }),
            verified: { type: 'boolean', default: true },
        },
    ],
    test_elicitation_sep1330_enums: [
        'Please choose',
        {
            untitledSingle: words({ enum: OPTIONS }),
            titledSingle: words({ oneOf: titled(['First Option', 'Second Option', 'Third Option'], 'value') }),
            legacyEnum: words({
                enum: ['opt1', 'opt2', 'opt3'],
                enumNames: ['Option One', 'Option Two', 'Option Three'],
            }),
            untitledMulti: { type: 'array', items: words({ enum: OPTIONS }) },
            titledMulti: {
                type: 'array',
                items: { anyOf: titled(['First Choice', 'Second Choice', 'Third Choice'], 'value') },
            },
        },
    ],
};

function byResults(server, states) {
    const tool = (name, handle) =>
        server.registerTool(`test_input_required_result_${name}`, { description: `Wants input: ${name}` }, ctx =>
            handle(ctx.mcpReq, ctx),
        );
    const name = z.object({ name: z.string() });
    const askName = message => question(message, { name: words() });
    const ask = (inputRequests, requestState) => inputRequired({ inputRequests, requestState });

    tool('elicitation', async ({ inputResponses }) => {
        const given = acceptedContent(inputResponses, 'user_name', name);
        return given ? says(`Hello, ${given.name}!`) : ask({ user_name: askName('What is your name?') });
    });
    tool('sampling', async ({ inputResponses }) => {
        const answer = inputResponses?.capital_question?.content?.text;
        return answer
            ? says(answer)
            : ask({ capital_question: sample('What is the capital of France?', 100) });
    });
    tool('list_roots', async ({ inputResponses }) => {
        const roots = inputResponses?.client_roots?.roots;
        return roots
            ? says(roots.map(root => root.uri).join(' '))
            : ask({ client_roots: inputRequired.listRoots() });
    });
    const confirm = { ok: { type: 'boolean' } };
    for (const which of ['request_state', 'tampered_state']) {
        tool(which, async ({ inputResponses, requestState }) => {
            const known = requestState?.();
            return known && acceptedContent(inputResponses, 'confirm')
                ? says('state-ok')
                : ask({ confirm: question('Please confirm', confirm) }, await states.mint({ which }));
        });
    }
    tool('multiple_inputs', async ({ inputResponses }) => {
        const given = acceptedContent(inputResponses, 'user_name', name);
        const greeting = inputResponses?.greeting?.content?.text;
        const roots = inputResponses?.client_roots?.roots;
        if (given && greeting && roots) return says(`${greeting}, ${given.name}: ${roots.length}`);
        return ask(
            {
                user_name: askName('What is your name?'),
                greeting: sample('Generate a greeting', 50),
                client_roots: inputRequired.listRoots(),
            },
            await states.mint({ which: 'multiple' }),
        );
    });
    tool('multi_round', async ({ inputResponses, requestState }) => {
        const known = requestState?.();
        const first = acceptedContent(inputResponses, 'step1', name);
        if (first) {
            const next = question('Step 2: What is your favorite color?', { color: words() });
            return ask({ step2: next }, await states.mint({ name: first.name }));
        }
        const second = acceptedContent(inputResponses, 'step2');
        if (second && known?.name) return says(`${known.name} likes ${second.color}`);
        return ask({ step1: askName('Step 1: What is your name?') }, await states.mint({ step: 1 }));
    });
    const capabilities = ({ envelope }) => envelope?.['io.modelcontextprotocol/clientCapabilities'] ?? {};
    tool('capabilities', async request => {
        const may = capabilities(request);
        const requests = {};
        if (may.sampling) requests.opinion = sample('Say something', 50);
        if (may.elicitation) requests.user_name = askName('What is your name?');
        return Object.keys(requests).length > 0 ? ask(requests) : says('nothing can be asked');
    });
    // The SDK says which capability is missing.
    server.registerTool('test_missing_capability', { description: 'Needs sampling' }, async ({ mcpReq }) => {
        const answer = mcpReq.inputResponses?.opinion?.content?.text;
        return answer ? says(answer) : ask({ opinion: sample('Say something', 50) });
    });
    server.registerTool('test_streaming_elicitation', { description: 'Asks after progress' }, async ({ mcpReq }) => {
        const given = acceptedContent(mcpReq.inputResponses, 'user_name', name);
        return given ? says(`Hello, ${given.name}!`) : ask({ user_name: askName('What is your name?') });
    });
    server.registerPrompt(
        'test_input_required_result_prompt',
        { title: 'wants input', description: 'Asks before it is made' },
        async ({ mcpReq }) => {
            const given = acceptedContent(mcpReq.inputResponses, 'user_context');
            return given
                ? { messages: [{ role: 'user', content: text(`In the context of ${given.context}`) }] }
                : ask({ user_context: question('What context should the prompt use?', { context: words() }) });
        },
    );
}
