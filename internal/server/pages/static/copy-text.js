// <copy-text> adds a button that copies its text.
customElements.define('copy-text', class extends HTMLElement {
  connectedCallback() {
    if (this.querySelector('button') || !navigator.clipboard) return;
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = 'Copy';
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(this.querySelector('pre').textContent);
      button.textContent = 'Copied';
      setTimeout(() => { button.textContent = 'Copy'; }, 2000);
    });
    this.append(button);
  }
});
