// <log-anchor> opens the log for those who come with a link to it: a page of a run is too short to have it in place.
customElements.define('log-anchor', class extends HTMLElement {
  connectedCallback() {
    if (location.hash === '#log') location.replace(this.querySelector('a').href);
  }
});
