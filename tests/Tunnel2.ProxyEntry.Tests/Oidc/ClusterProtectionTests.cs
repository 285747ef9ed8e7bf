using System.Security.Cryptography;
using Microsoft.AspNetCore.DataProtection;
using Tunnel2.ProxyEntry.Oidc;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Oidc;

public sealed class ClusterProtectionTests
{
    private static readonly byte[] _secret = new byte[32];
    private static readonly TimeSpan _period = TimeSpan.FromDays(30);

    private readonly ManualTimeProvider _time = new();

    [Fact]
    public void What_one_node_seals_each_node_with_the_secret_opens_for_the_same_purposes_alone()
    {
        var sealedBytes = NodeOf(_secret).CreateProtector("a", "b").Protect([1, 2, 3]);
        Assert.Equal([1, 2, 3], NodeOf(_secret).CreateProtector("a", "b").Unprotect(sealedBytes));
        AssertClosed(NodeOf([.. _secret[1..], 1]).CreateProtector("a", "b"), sealedBytes);
        foreach (var purposes in new string[][] { ["a"], ["b", "a"], ["ab"], ["a", "b", "c"], ["a", "c"], ["a1:b"], ["1:a1:b"] })
        {
            AssertClosed(NodeOf(_secret).CreateProtector(purposes), sealedBytes);
        }
    }

    [Fact]
    public void What_was_changed_or_never_sealed_opens_nothing()
    {
        var protector = NodeOf(_secret).CreateProtector("a");
        var sealedBytes = protector.Protect([1, 2, 3]);
        for (var i = 0; i < sealedBytes.Length; i++)
        {
            AssertClosed(protector, [.. sealedBytes[..i], (byte)(sealedBytes[i] ^ 1), .. sealedBytes[(i + 1)..]]);
            AssertClosed(protector, sealedBytes[..i]);
        }
    }

    [Theory]
    [InlineData(0, true)]
    [InlineData(30, true)]
    [InlineData(60, false)]
    [InlineData(-30, true)]
    [InlineData(-60, false)]
    public void A_key_opens_for_as_long_again_as_it_seals(int days, bool opens)
    {
        var sealedBytes = NodeOf(_secret).CreateProtector("a").Protect([1]);
        var other = new ManualTimeProvider(_time.GetUtcNow() + TimeSpan.FromDays(days));
        var protector = new ClusterProtection(_secret, _period, other).CreateProtector("a");
        if (opens)
        {
            Assert.Equal([1], protector.Unprotect(sealedBytes));
        }
        else
        {
            AssertClosed(protector, sealedBytes);
        }
    }

    private ClusterProtection NodeOf(byte[] secret) => new(secret, _period, _time);

    private static void AssertClosed(IDataProtector protector, byte[] sealedBytes) =>
        Assert.ThrowsAny<CryptographicException>(() => protector.Unprotect(sealedBytes));
}
