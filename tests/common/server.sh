# A server: what it hears goes to $1-PID, $2 is its name, the rest are its tools.
seen=$1-$$ name=$2
shift 2
list=
for tool; do
  list="$list${list:+,}{\"name\":\"$tool\",\"inputSchema\":{\"type\":\"object\"}}"
done
say() { printf '%s\n' "$1"; }
while IFS= read -r line; do
  printf '%s\n' "$line" >> "$seen"
  id=$(printf '%s' "$line" | sed -n 's/^{"jsonrpc":"2.0","id":\("[^"]*"\|[0-9]*\),.*/\1/p')
  reply() { say '{"jsonrpc":"2.0","id":'"$id"', "result":'"$1"'}'; }
  case "$line" in
    *'"method":"initialize"'*)
      reply '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"'"$name"'","version":"1"}}' ;;
    *'"method":"tools/list"'*)
      reply '{"tools":['"$list"']}' ;;
    *'"name":"die"'*)
      exit 5 ;;
    *'"name":"ask"'*)
      say '{"jsonrpc":"2.0","id":"q","method":"ping"}'
      IFS= read -r line
      printf '%s\n' "$line" >> "$seen"
      reply '{"content":[{"type":"text","text":"asked"}]}' ;;
    *'"name":"slow"'*)
      sleep 0.4
      reply '{"content":[{"type":"text","text":"late"}]}' ;;
    *'"method":"tools/call"'*)
      reply '{"content":[{"type":"text","text":"by '"$name"'"}]}' ;;
  esac
done
