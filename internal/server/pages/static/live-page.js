// <live-page> keeps the page up to date: the server sends it again, as an event, whenever it has changed. It is
// connected only while it can be seen, because browsers allow few connections to a server.
customElements.define('live-page', class extends HTMLElement {
  connectedCallback() {
    this.toggle = () => (document.hidden ? this.disconnect() : this.connect());
    document.addEventListener('visibilitychange', this.toggle);
    this.toggle();
  }

  disconnectedCallback() {
    document.removeEventListener('visibilitychange', this.toggle);
    this.disconnect();
  }

  connect() {
    if (this.source || this.settled) return;
    this.source = new EventSource(location.pathname + location.search);
    this.source.addEventListener('open', () => {
      this.show(true);
      this.dispatchEvent(new CustomEvent('connected'));
    });
    this.source.addEventListener('error', () => this.lose());
    this.source.addEventListener('page', (event) => this.update(JSON.parse(event.data)));
    this.source.addEventListener('gone', () => location.reload());
    this.source.addEventListener('settled', () => this.settle());
  }

  disconnect() {
    clearTimeout(this.waiting);
    this.source?.close();
    this.source = null;
  }

  // settle stays with a page that will not change any more.
  settle() {
    this.settled = true;
    this.disconnect();
    const sign = this.querySelector('[data-live]');
    if (sign) sign.hidden = true;
  }

  lose() {
    this.show(false);
    if (this.source?.readyState !== EventSource.CLOSED) return; // the browser connects again by itself
    this.disconnect();
    this.waiting = setTimeout(() => this.ask(), askAfter);
  }

  // ask finds out why the server refused a connection. Whoever may not see the page any more learns that from the page.
  // Otherwise the server, or a proxy before it, is busy or away.
  async ask() {
    const control = new AbortController();
    const wanted = { headers: { Accept: 'text/event-stream' }, redirect: 'manual', signal: control.signal };
    const answer = await fetch(location.pathname + location.search, wanted).catch(() => null);
    control.abort();
    if (!this.isConnected || document.hidden) return;
    if (answer && refuses(answer) && mayReload()) location.reload();
    else this.connect();
  }

  show(live) {
    this.live = live;
    const sign = this.querySelector('[data-live]');
    if (!sign) return;
    sign.hidden = false;
    sign.textContent = live ? 'Live' : 'Connecting';
    sign.classList.toggle('lost', !live);
  }

  update({ title, icon, html }) {
    const fresh = new DOMParser().parseFromString(`<main>${html}</main>`, 'text/html').querySelector('main');
    morphChildren(this.querySelector('main'), fresh);
    document.title = document.title.includes(' · ') ? `${title} · Postflight` : title;
    document.querySelector('link[rel=icon]').href = icon;
    this.show(true);
    this.dispatchEvent(new CustomEvent('updated', { bubbles: true }));
  }
});

// askAfter is how long a refused page waits, in milliseconds: as long as a browser whose connection has ended.
const askAfter = 3000;

// refuses is about the reader or the page. What a proxy says to a page that Postflight would show is no reason to leave it.
function refuses({ type, status, headers }) {
  const own = headers.has('Content-Security-Policy');
  return type === 'opaqueredirect' || status === 401 || status === 403 || (own && status >= 400 && status < 500);
}

// mayReload is true once a minute: something before the server may refuse only connections that stay open.
function mayReload() {
  const last = Number(sessionStorage.getItem('reloaded'));
  if (Date.now() - last < 60_000) return false;
  sessionStorage.setItem('reloaded', Date.now());
  return true;
}

// morph makes one element like another, and leaves alone what is the same, so that focus, selection and open menus
// stay. data-keep marks what belongs to the reader, such as a form. What the reader unfolded stays unfolded.
function morph(old, fresh) {
  if (old.isEqualNode(fresh) || old.hasAttribute('data-keep')) return;
  const unfolded = old.localName === 'details' && old.open;
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name) && !(unfolded && name === 'open')) old.removeAttribute(name);
  for (const { name, value } of [...fresh.attributes]) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  morphChildren(old, fresh);
}

function morphChildren(old, fresh) {
  const known = new Map([...old.children].filter((child) => child.id).map((child) => [child.id, child]));
  let at = old.firstChild;
  for (const child of [...fresh.childNodes]) {
    const same = child.id ? known.get(child.id) : like(at, child) ? at : null;
    if (!same) {
      old.insertBefore(child, at);
      continue;
    }
    if (same === at) at = at.nextSibling;
    else old.insertBefore(same, at);
    if (same.nodeType === Node.ELEMENT_NODE) morph(same, child);
    else if (same.nodeValue !== child.nodeValue) same.nodeValue = child.nodeValue;
  }
  while (at) {
    const rest = at.nextSibling;
    at.remove();
    at = rest;
  }
}

function like(a, b) {
  return a && a.nodeType === b.nodeType && a.nodeName === b.nodeName && !a.id;
}
