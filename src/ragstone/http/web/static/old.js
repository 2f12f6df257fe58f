// What a browser that knows no modules shows.
document.getElementById("app").appendChild(document.createTextNode(
  "This browser is too old for this page. Use a current Firefox, Chrome, Edge or Safari."
));
