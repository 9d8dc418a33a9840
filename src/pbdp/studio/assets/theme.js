// Before anything is drawn: the colors that were chosen on this machine, else those of the system.
document.documentElement.dataset.theme = localStorage.getItem("pbdp-theme") ?? "auto";
