using System.Text;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Protocol.Tests.Handshake;

public sealed class SecretsTests
{
    private static readonly byte[] _secret = "SECRETsecretSECRETsecretSECRETse"u8.ToArray();

    [Fact]
    public void Messages_as_text_name_what_they_are_and_none_of_their_secrets()
    {
        var hello = new HelloMessage
        {
            AgentName = "tunnel2",
            AgentVersion = "1.2",
            InstanceKey = _secret,
            WantedName = "web",
            AgentId = "office",
            ProofKind = TokenProofKind.Bearer,
            Proof = _secret,
        };
        var welcome = new WelcomeMessage { SessionId = new byte[16], JoinSecret = _secret, Name = "web", PublicUrls = [] };
        var join = JoinMessage.Create(new byte[16], _secret, 4) with { Proof = _secret };

        AssertKeepsSecret(hello.ToString(), "HELLO", "tunnel2/1.2", "web", "office");
        AssertKeepsSecret(welcome.ToString(), "WELCOME", "web");
        AssertKeepsSecret(join.ToString(), "JOIN", "4");
    }

    [Fact]
    public void Refusals_to_encode_do_not_quote_what_they_refuse()
    {
        var hello = new HelloMessage
        {
            AgentName = "a",
            AgentVersion = "1",
            InstanceKey = _secret,
            Proof = Enumerable.Repeat(_secret, 2_000).SelectMany(x => x).ToArray(),
        };
        AssertKeepsSecret(Assert.Throws<ArgumentException>(hello.ToFrame).ToString());
    }

    private static void AssertKeepsSecret(string text, params string[] parts)
    {
        Assert.All(parts, part => Assert.Contains(part, text, StringComparison.Ordinal));
        Assert.DoesNotContain(Encoding.ASCII.GetString(_secret, 0, 6), text, StringComparison.OrdinalIgnoreCase);
        Assert.DoesNotContain(Convert.ToHexString(_secret, 0, 4), text, StringComparison.OrdinalIgnoreCase);
        Assert.DoesNotContain(Convert.ToBase64String(_secret, 0, 6), text, StringComparison.Ordinal);
    }
}
