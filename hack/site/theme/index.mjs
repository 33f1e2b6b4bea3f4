// SPDX-License-Identifier: Apache-2.0

// The theme of VitePress, and diagrams: Mermaid draws what is in a block of its language, and is loaded by pages with one.
import DefaultTheme from 'vitepress/theme'
import { useData, useRoute, withBase } from 'vitepress'
import { nextTick, onMounted, watch } from 'vue'

export default {
  extends: DefaultTheme,
  setup() {
    const { isDark } = useData()
    const route = useRoute()
    async function draw() {
      await nextTick()
      const nodes = [...document.querySelectorAll('pre.mermaid')]
      if (nodes.length === 0) return
      const { default: mermaid } = await import(/* @vite-ignore */ withBase('/mermaid/mermaid.esm.min.mjs'))
      mermaid.initialize({ startOnLoad: false, theme: isDark.value ? 'dark' : 'neutral' })
      for (const node of nodes) {
        node.dataset.source ??= node.textContent // it is drawn again in other colours
        node.textContent = node.dataset.source
        node.removeAttribute('data-processed')
      }
      await mermaid.run({ nodes })
    }
    onMounted(draw)
    watch([() => route.path, isDark], draw)
  },
}
