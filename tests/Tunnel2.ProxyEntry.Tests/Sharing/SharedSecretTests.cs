using System.Text;
using Tunnel2.ProxyEntry.Sharing;

namespace Tunnel2.ProxyEntry.Tests.Sharing;

public sealed class SharedSecretTests
{
    private static readonly byte[] _value = Encoding.ASCII.GetBytes("a private key");

    private readonly SharedSecret _secret = new(Encoding.ASCII.GetBytes("a secret of thirty-two or more characters"));

    [Fact]
    public void What_one_node_seals_another_opens_and_a_stranger_cannot_read()
    {
        var sealedValue = _secret.Seal("kind", "key", _value);
        var other = new SharedSecret(Encoding.ASCII.GetBytes("a secret of thirty-two or more characters"));
        Assert.Equal(_value, other.Open("kind", "key", sealedValue));
        Assert.DoesNotContain("private", Encoding.Latin1.GetString(sealedValue), StringComparison.Ordinal);
        Assert.NotEqual(sealedValue, _secret.Seal("kind", "key", _value));
        Assert.Empty(_secret.Open("kind", "key", _secret.Seal("kind", "key", []))!);
    }

    [Fact]
    public void It_opens_with_the_same_secret_at_the_same_place_only()
    {
        var sealedValue = _secret.Seal("kind", "key", _value);
        Assert.Null(new SharedSecret(Encoding.ASCII.GetBytes("another of thirty-two or more characters")).Open("kind", "key", sealedValue));
        Assert.Null(_secret.Open("kind", "other", sealedValue));
        Assert.Null(_secret.Open("other", "key", sealedValue));
    }

    [Fact]
    public void Any_change_is_noticed()
    {
        var sealedValue = _secret.Seal("kind", "key", _value);
        for (var i = 0; i < sealedValue.Length; i++)
        {
            var changed = sealedValue.ToArray();
            changed[i] ^= 1;
            Assert.Null(_secret.Open("kind", "key", changed));
            Assert.Null(_secret.Open("kind", "key", sealedValue.AsSpan(0, i)));
        }
    }
}
