// Calls to the service, with the token if it asks for one, and its errors in words.

let token = null;

export class ServiceError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export function useToken(value) {
  token = value;
}

async function call(path, options = {}) {
  const headers = { ...options.headers, ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  let response;
  try {
    response = await fetch(path, { ...options, headers });
  } catch {
    throw new ServiceError(0, "The service does not answer. Is it still running?");
  }
  const body = await response.json().catch(() => ({}));
  if (!response.ok) {
    const errors = body.errors ?? [];
    throw new ServiceError(response.status, errors[0]?.message ?? `The service answered ${response.status}.`);
  }
  return body;
}

export async function describeModel(attempts = 120) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call("model");
    } catch (error) {
      if (error.status !== 503 || attempt >= attempts) throw error;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
}

// Alternatives are asked for where the service gives them: of sentences up to 40 words.
export async function parse(sentence) {
  const words = sentence.match(/\w+|[^\w\s]/gu)?.length ?? 0;
  const body = JSON.stringify({ sentence, n_best: words < 38 ? 5 : 1, details: true });
  const answer = await call("parse", { method: "POST", headers: { "Content-Type": "application/json" }, body });
  return answer.answers[0];
}
