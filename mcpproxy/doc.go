// Package mcpproxy is the MCP connector: what an agent's MCP client and a
// server send each other goes through a mediator. It holds no policy.
//
// A [Proxy] represents one server. [Proxy.Stdio] carries newline-delimited
// messages between a client and the server's process; [Proxy.Handler] serves
// the streamable HTTP transport in front of the server's URL. Messages are
// parsed strictly, mediated one by one in order, and forwarded unchanged if
// nothing in them is edited.
//
// Every request gets exactly one answer: the other side's, or an error that
// names the decision. Invalid messages, ids that are in use, and answers that
// nobody waits for do not pass.
package mcpproxy
