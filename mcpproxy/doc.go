// Package mcpproxy is the MCP connector: what an agent's MCP client and a
// server tell each other goes through a mediator. It holds no policy.
//
// A [Proxy] stands for one server. [Proxy.Stdio] carries newline-delimited
// messages between a client and the server's process; [Proxy.Handler] serves
// the streamable HTTP transport in front of the server's URL. Messages are
// parsed strictly, mediated one by one in the order in which they came, and go
// on as they are where nothing in them is edited.
//
// Every request gets exactly one answer: the other side's, or an error that
// names the decision. What is no message, an id that is in use and an answer
// that nobody waits for do not pass.
package mcpproxy
