// The page on which a person tries the queries of bulkload serve. It makes a form for each query of openapi.json.
"use strict";

const token = document.querySelector("#token input");

function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

function ask(url) {
  return fetch(url, { headers: token.value ? { Authorization: "Bearer " + token.value } : {} });
}

// parse leaves numbers as they are written, because a double has fewer digits than some of them.
function parse(text) {
  return JSON.parse(text, (key, value, context) => typeof value === "number" && context?.source ? context.source : value);
}

function shown(value) {
  return value !== null && typeof value === "object" ? JSON.stringify(value) : String(value);
}

function table(rows) {
  const names = [...new Set(rows.flatMap(row => Object.keys(row)))];
  const line = (tag, texts) => make("tr", {}, ...texts.map(text => make(tag, { textContent: text })));
  return make("div", { className: "wide" }, make("table", {},
    make("thead", {}, line("th", names)),
    make("tbody", {}, ...rows.map(row => line("td", names.map(name => name in row ? shown(row[name]) : ""))))));
}

function query(path, operation) {
  const inputs = operation.parameters.filter(p => p.name !== "after").map(p => {
    const input = p.schema.enum
      ? make("select", { name: p.name }, make("option", { value: "" }), ...p.schema.enum.map(v => make("option", { textContent: v })))
      : make("input", { name: p.name, required: p.required === true, placeholder: p.schema.default ?? "" });
    return make("p", {}, make("label", { title: p.description }, p.name + " ", input));
  });
  const answer = make("div", {});
  const fail = error => answer.append(make("p", { className: "note bad", textContent: error }));
  async function show(url) {
    answer.replaceChildren(make("p", { className: "soft", textContent: "GET " + url }));
    const begun = performance.now();
    const response = await ask(url);
    const body = parse(await response.text());
    const took = Math.round(performance.now() - begun);
    if (!response.ok) {
      answer.append(make("p", { className: "note bad", textContent: response.status + " " + body.error.code + ": " + body.error.message }));
      return;
    }
    answer.append(make("p", { textContent: body.rows.length + " rows in " + took + " ms" }), table(body.rows));
    if (body.next !== null) {
      const next = new URL(url, location);
      next.searchParams.set("after", body.next);
      answer.append(make("button", { textContent: "the next rows", onclick: () => show(next.pathname + next.search).catch(fail) }));
    }
  }
  const form = make("form", {}, ...inputs, make("button", { textContent: "look up" }));
  form.onsubmit = event => {
    event.preventDefault();
    const given = [...new FormData(form)].filter(([, value]) => value !== "");
    show("." + path + "?" + new URLSearchParams(given)).catch(fail);
  };
  // A link such as #/get/check?check_id=7 asks at once.
  const [wanted, given] = location.hash.slice(1).split("?");
  if (wanted === path && given) {
    show("." + path + "?" + given).catch(fail);
  }
  return make("section", {}, make("h2", { textContent: path }), make("p", { textContent: operation.description }), form, answer);
}

async function begin() {
  const response = await ask("openapi.json");
  if (response.status === 401) {
    document.querySelector("#token").hidden = false;
    document.querySelector("#queries").textContent = token.value ? "This token is wrong." : "";
    return;
  }
  const document_ = await response.json();
  const all = Object.entries(document_.paths).filter(([path]) => path.startsWith("/get/"));
  document.querySelector("#queries").replaceChildren(...all.map(([path, item]) => query(path, item.get)));
}

token.onchange = begin;
begin();
