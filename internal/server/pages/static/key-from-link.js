// <key-from-link> fills in the API key that follows #key= in the address, which browsers do not send, and takes it out
// of the address. It does not send the form: a link must not sign anybody in.
customElements.define('key-from-link', class extends HTMLElement {
  connectedCallback() {
    const key = new URLSearchParams(location.hash.slice(1)).get('key');
    if (!key) return;
    history.replaceState(null, '', location.pathname + location.search);
    this.querySelector('[name=key]').value = key;
    this.querySelector('button').focus();
  }
});
