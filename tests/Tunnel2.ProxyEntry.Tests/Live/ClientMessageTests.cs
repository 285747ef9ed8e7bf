using System.Text;
using Tunnel2.ProxyEntry.Live;

namespace Tunnel2.ProxyEntry.Tests.Live;

public sealed class ClientMessageTests
{
    [Theory]
    [InlineData("""{"op":"subscribe","channel":"a.*","id":"1"}""", "subscribe", "a.*", "1")]
    [InlineData("""{"id":"1","channel":"a","op":"unsubscribe"}""", "unsubscribe", "a", "1")]
    [InlineData("""{"op":"ping"}""", "ping", null, null)]
    [InlineData("""{"op":"subscribe","channel":"a","id":7}""", "subscribe", "a", null)]
    [InlineData("""{"op":"subscribe","other":{"op":["ping"]},"channel":"a"}""", "subscribe", "a", null)]
    [InlineData("""{"op":"ping","op":"subscribe","channel":"a"} """, "subscribe", "a", null)]
    public void A_message_is_read(string text, string op, string? channel, string? id) =>
        Assert.Equal(new ClientMessage(op, channel, id, null), Parse(text));

    [Theory]
    [InlineData("", "invalid-json")]
    [InlineData("[]", "invalid-json")]
    [InlineData("\"subscribe\"", "invalid-json")]
    [InlineData("""{"op":"ping"}{}""", "invalid-json")]
    [InlineData("""{"op":"ping"} x""", "invalid-json")]
    [InlineData("""{"op":"ping" """, "invalid-json")]
    [InlineData("""{"op":"ping","a":[[[[1]]]]}""", "invalid-json")]
    [InlineData("""{"op":"\ud800"}""", "invalid-json")]
    [InlineData("{}", "unknown-op")]
    [InlineData("""{"op":"Ping"}""", "unknown-op")]
    [InlineData("""{"op":{"op":"ping"}}""", "unknown-op")]
    [InlineData("""{"op":"subscribe"}""", "invalid-channel")]
    [InlineData("""{"op":"unsubscribe","channel":7}""", "invalid-channel")]
    public void A_mistake_has_its_code(string text, string mistake) =>
        Assert.Equal(new ClientMessage(null, null, null, mistake), Parse(text));

    [Fact]
    public void An_id_of_64_characters_comes_back_and_a_longer_one_is_refused()
    {
        var id = new string('i', 64);
        Assert.Equal(new ClientMessage("ping", null, id, null), Parse($$"""{"op":"ping","id":"{{id}}"}"""));
        Assert.Equal(new ClientMessage(null, null, null, "invalid-id"), Parse($$"""{"op":"ping","id":"{{id}}i"}"""));
    }

    private static ClientMessage Parse(string text) => ClientMessage.Parse(Encoding.UTF8.GetBytes(text));
}
