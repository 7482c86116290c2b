// <log-view> follows a log that is being written, loads the parts before and after what is shown, and leads to the
// line that the address names.
customElements.define('log-view', class extends HTMLElement {
  connectedCallback() {
    this.lines = this.querySelector('[data-lines]');
    if (!this.lines) return;
    this.addEventListener('click', (event) => this.click(event));
    window.addEventListener('hashchange', this.hash = () => this.reveal());
    this.reveal();
    if (!this.dataset.follow) return;
    this.follow();
    this.closest('live-page')?.addEventListener('connected', () => this.source?.readyState === EventSource.CLOSED && this.follow());
  }

  disconnectedCallback() {
    window.removeEventListener('hashchange', this.hash);
    this.source?.close();
  }

  // follow asks for what comes after the lines that are shown.
  follow() {
    const url = new URL(this.dataset.follow, location.href);
    const last = [...this.lines.querySelectorAll('[id^=L]')].at(-1);
    url.searchParams.set('after', Math.max(this.dataset.last, last ? last.id.slice(1) : 0));
    this.source = new EventSource(url);
    this.source.addEventListener('error', () => {
      if (this.source?.readyState === EventSource.CLOSED) this.say('The server sends no more of the log. Load the page again.');
    });
    this.source.addEventListener('lines', (event) => this.append(JSON.parse(event.data)));
    this.source.addEventListener('end', () => {
      this.source.close();
      this.source = null;
      this.say('The log has ended.');
    });
    this.say('Following the log.');
  }

  // append keeps the end in sight for a reader who is there, and leaves alone one who reads above it.
  append(html) {
    const atEnd = window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - 80;
    if (!this.lines.querySelector('[id]')) this.lines.replaceChildren();
    this.lines.insertAdjacentHTML('beforeend', html);
    if (atEnd) window.scrollTo({ top: document.documentElement.scrollHeight });
  }

  say(text) { this.querySelector('[data-state]').textContent = text; }

  async click(event) {
    const link = event.target.closest('[data-older], [data-newer]');
    if (!link) return;
    event.preventDefault();
    const height = document.documentElement.scrollHeight;
    await this.load(link);
    if (link.matches('[data-older]')) window.scrollBy(0, document.documentElement.scrollHeight - height);
  }

  // load puts another part of the log before or after what is shown. It is a page of its own, for those without scripts.
  async load(link) {
    const older = link.matches('[data-older]');
    const part = await this.fetchPart(link.href);
    const lines = [...part.querySelector('[data-lines]').children].filter((line) => !this.querySelector(`#${line.id || 'none'}`));
    if (older) this.lines.prepend(...lines);
    else this.lines.append(...lines);
    const next = part.querySelector(older ? '[data-older]' : '[data-newer]');
    if (next) link.closest('.more').replaceWith(next.closest('.more'));
    else link.closest('.more').remove();
  }

  async fetchPart(url) {
    const response = await fetch(url, { headers: { Accept: 'text/html' } });
    return new DOMParser().parseFromString(await response.text(), 'text/html');
  }

  // reveal shows the line of the address, and loads its part of the log first if need be.
  async reveal() {
    const number = /^#L(\d+)$/.exec(location.hash)?.[1];
    if (!number) return;
    if (!document.getElementById(`L${number}`)) {
      const url = new URL(location.href);
      url.searchParams.set('from', Math.max(1, number - 500));
      const part = await this.fetchPart(url);
      const lines = part.querySelector('.log');
      if (!lines?.querySelector(`#L${number}`)) return;
      this.source?.close();
      this.source = null;
      this.querySelector('.log').replaceWith(lines);
      this.lines = this.querySelector('[data-lines]');
    }
    const line = document.getElementById(`L${number}`);
    line.closest('details')?.setAttribute('open', '');
    this.querySelectorAll('.chosen').forEach((other) => other.classList.remove('chosen'));
    line.classList.add('chosen');
    line.scrollIntoView({ block: 'center' });
  }
});
