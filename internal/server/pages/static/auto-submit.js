// <auto-submit> sends its form when something is chosen, and leaves fields that choose nothing out of the URL.
customElements.define('auto-submit', class extends HTMLElement {
  connectedCallback() {
    const form = this.querySelector('form');
    form.addEventListener('change', (event) => { if (event.target.matches('select, [type=checkbox]')) form.requestSubmit(); });
    form.addEventListener('formdata', ({ formData }) => {
      for (const [name, value] of [...formData]) if (!value) formData.delete(name);
    });
  }
});
