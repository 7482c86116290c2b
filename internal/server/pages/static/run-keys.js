// <run-keys> moves through a list with j and k, and starts a search with a slash, as in many lists of this kind.
customElements.define('run-keys', class extends HTMLElement {
  connectedCallback() {
    this.listen = (event) => this.press(event);
    document.addEventListener('keydown', this.listen);
  }

  disconnectedCallback() { document.removeEventListener('keydown', this.listen); }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.('input, select, textarea')) return;
    const search = document.querySelector('input[type=search]');
    if (event.key === '/' && search) {
      event.preventDefault();
      search.focus();
    }
    const step = { j: 1, k: -1 }[event.key];
    if (!step) return;
    const links = [...this.querySelectorAll('.cover')];
    const next = links[links.indexOf(document.activeElement) + step] ?? (step > 0 ? links[0] : links.at(-1));
    next?.focus();
  }
});
