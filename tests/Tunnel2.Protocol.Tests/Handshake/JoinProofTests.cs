using System.Security.Cryptography;
using System.Text;
using FsCheck.Fluent;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Protocol.Tests.Handshake;

public sealed class JoinProofTests
{
    private static readonly byte[] _session = [.. Enumerable.Range(0, 16).Select(value => (byte)value)];
    private static readonly byte[] _secret = [.. Enumerable.Range(100, 32).Select(value => (byte)value)];

    [Fact]
    public void The_right_secret_proves_a_join() => Assert.True(JoinMessage.Create(_session, _secret, 7).IsProvenBy(_secret));

    [Fact]
    public void The_proof_is_an_hmac_over_text_session_and_counter()
    {
        byte[] input = [.. Encoding.ASCII.GetBytes("tunnel2 join"), .. _session, 0, 0, 0, 0, 0, 0, 1, 2];
        Assert.Equal(HMACSHA256.HashData(_secret, input), JoinMessage.Create(_session, _secret, 0x102).Proof.ToArray());
    }

    [Fact]
    public void A_secret_that_differs_in_one_bit_proves_nothing() => Property.Holds(Gen.Choose(0, 255), bit =>
    {
        var wrong = (byte[])_secret.Clone();
        wrong[bit / 8] ^= (byte)(1 << (bit % 8));
        Assert.False(JoinMessage.Create(_session, wrong, 7).IsProvenBy(_secret));
    });

    [Fact]
    public void A_proof_holds_for_its_own_counter_and_session_only()
    {
        var join = JoinMessage.Create(_session, _secret, 7);
        Assert.False((join with { Counter = 8 }).IsProvenBy(_secret));
        Assert.False((join with { SessionId = new byte[16] }).IsProvenBy(_secret));
        Assert.False((join with { Proof = join.Proof[..31] }).IsProvenBy(_secret));
        Assert.False((join with { Proof = ReadOnlyMemory<byte>.Empty }).IsProvenBy(_secret));
    }
}
